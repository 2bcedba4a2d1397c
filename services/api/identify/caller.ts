export const plans = ['free', 'pro'] as const
export type Plan = (typeof plans)[number]

export const permissions = ['orders:read', 'orders:write'] as const
export type Permission = (typeof permissions)[number]

/** What needs no key: the demonstration's orders are public. */
export const anonymousPermissions: ReadonlySet<Permission> = new Set(['orders:read'])

/** A caller that showed a known API key. */
export type KeyCaller = {
  readonly kind: 'key'
  readonly keyId: string
  readonly owner: string | undefined
  readonly plan: Plan
  readonly permissions: ReadonlySet<Permission>
}

/** Who makes a request. */
export type Caller = { readonly kind: 'anonymous' } | KeyCaller
