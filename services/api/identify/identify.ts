import { type ApiKeys, findCaller } from './api-keys.ts'
import type { Caller, KeyCaller } from './caller.ts'
import { readCredential } from './credential.ts'
import { clientAddress } from './forwarded-address.ts'
import type { Cidr } from './ip-address.ts'

/** What a request says of who sent it. */
export type Claims = {
  readonly peer: string | undefined
  readonly forwardedFor: string | undefined
  readonly authorizationLines: readonly string[]
}

export type Identity = {
  readonly caller: Caller
  /** Whom the request is charged to. A caller with a wrong credential is its address. */
  readonly client: string
  /** What is wrong with the credential, for its sender to read. */
  readonly credentialProblem: string | undefined
}

type Options = { readonly trustedProxies: readonly Cidr[]; readonly keys: () => ApiKeys }

export type Identify = (claims: Claims) => Identity

/** Who sent a request. Reads nothing but memory, because it runs before the gate. */
export const createIdentify =
  ({ trustedProxies, keys }: Options): Identify =>
  ({ peer, forwardedFor, authorizationLines }) => {
    const anonymous = (credentialProblem?: string): Identity => ({
      caller: { kind: 'anonymous' },
      client: `ip:${clientAddress({ peer, forwardedFor, trustedProxies })}`,
      credentialProblem,
    })
    const credential = readCredential(authorizationLines)
    switch (credential.kind) {
      case 'none':
        return anonymous()
      case 'malformed':
        return anonymous(credential.problem)
      case 'bearer': {
        const caller = findCaller(keys(), credential.token)
        if (caller === undefined) return anonymous('The API key is not known.')
        return { caller, client: clientOf(caller), credentialProblem: undefined }
      }
    }
  }

const clientOf = ({ owner, keyId }: KeyCaller) => (owner === undefined ? `key:${keyId}` : `user:${owner}`)
