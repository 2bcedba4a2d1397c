import { createPrivateKey, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { systemWallClock, type WallClock } from '../seams/clock.ts'
import { type FileContent, openLiveFiles } from './live-file.ts'

/** One end's side of TLS, as PEM. */
export type TlsMaterial = {
  /** Its certificate, with the chain to the root if there is one, and the key of it. Absent: it shows none. */
  readonly identity: { readonly cert: string; readonly key: string; readonly expires: Date } | undefined
  /** Whom it believes. Absent: nobody is asked for a certificate, or the system's roots count. */
  readonly ca: string | undefined
}

export type TlsPaths = {
  readonly cert: string | undefined
  readonly key: string | undefined
  readonly ca: string | undefined
}

type Options = {
  readonly paths: TlsPaths
  /** Told of every reload; one with problems has left the last good files in force. */
  readonly onReload: (reload: FileContent<TlsMaterial>) => void
  readonly wallClock?: WallClock
  readonly pollMs?: number
}

/** Reads the files now, and again whenever one has changed; what cannot be served with is told instead. */
export const openTlsFiles = ({ paths, wallClock = systemWallClock, ...options }: Options) => {
  const named = Object.entries(paths).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return openLiveFiles<string, TlsMaterial>({
    ...options,
    paths: Object.fromEntries(named),
    parse: (texts) => parseTlsMaterial(texts, paths, wallClock),
  })
}

/** What can be served with, or what is wrong with which of the files, by their names. */
export const parseTlsMaterial = (
  { cert, key, ca }: Partial<TlsPaths>,
  names: TlsPaths,
  wallClock: WallClock,
): FileContent<TlsMaterial> => {
  const problems = [
    ...(cert === undefined || key === undefined ? [] : identityProblems({ cert, key, names, wallClock })),
    ...(ca === undefined ? [] : caProblems(ca, names.ca)),
  ]
  if (problems.length > 0) return { ok: false, problems }
  const identity =
    cert === undefined || key === undefined ? undefined : { cert, key, expires: new X509Certificate(cert).validToDate }
  return { ok: true, value: { identity, ca } }
}

type Identity = {
  readonly cert: string
  readonly key: string
  readonly names: TlsPaths
  readonly wallClock: WallClock
}

const identityProblems = ({ cert, key, names, wallClock }: Identity): readonly string[] => {
  const read = parsed(() => new X509Certificate(cert))
  if (read === undefined) return [`${names.cert} holds no certificate in PEM`]
  if (read.validToDate.getTime() * 1000 <= wallClock.nowUs()) return [`${names.cert} expired on ${read.validTo}`]
  const privateKey = parsed(() => createPrivateKey(key))
  if (privateKey === undefined) return [`${names.key} holds no private key in PEM without a passphrase`]
  if (!read.checkPrivateKey(privateKey)) return [`${names.key} is not the key of ${names.cert}`]
  // What is left to go wrong: a damaged certificate further up the chain.
  return parsed(() => createSecureContext({ cert, key })) === undefined ? [`${names.cert} cannot be used for TLS`] : []
}

const caProblems = (ca: string, name: string | undefined): readonly string[] => {
  const certificates = ca.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? []
  if (certificates.length === 0) return [`${name} holds no certificate in PEM`]
  return certificates.flatMap((one, index) =>
    parsed(() => new X509Certificate(one)) === undefined ? [`${name}: certificate ${index + 1} is damaged`] : [],
  )
}

const parsed = <T>(parse: () => T): T | undefined => {
  try {
    return parse()
  } catch {
    return undefined
  }
}
