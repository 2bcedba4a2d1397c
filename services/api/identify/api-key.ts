import { hash, randomBytes } from 'node:crypto'

/** `weir_<id>_<secret>`: the id names the key in files, logs and buckets, the secret (192 random bits) is told once. */
export type ApiKey = { readonly keyId: string; readonly key: string }

const ID_BYTES = 6
const SECRET_BYTES = 24

export const createApiKey = (): ApiKey => {
  const keyId = randomBytes(ID_BYTES).toString('hex')
  return { keyId, key: `weir_${keyId}_${randomBytes(SECRET_BYTES).toString('hex')}` }
}

const KEY = /^weir_(?<id>[0-9a-f]{12})_[0-9a-f]{48}$/
const KEYS = /weir_(?<id>[0-9a-f]{12})_[0-9a-f]{48}/g

export const isKeyId = (text: string) => /^[0-9a-f]{12}$/.test(text)

/** The id of a text that has the form of a key. */
export const keyIdOf = (text: string): string | undefined => KEY.exec(text)?.groups?.['id']

/** A key has too many random bits to be guessed from its hash, so a fast hash without salt is enough. */
export const hashApiKey = (key: string): Buffer => hash('sha256', key, 'buffer')

/** Blots out the secret of every key in a text. */
export const redactApiKeys = (text: string) => text.replace(KEYS, 'weir_$<id>_[redacted]')
