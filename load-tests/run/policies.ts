/** The limits of the local installation, by the names of its clients: each kind of client is for one kind of question. */
export const localPolicies = `
domain: api
subject: client
policies:
  # One bucket that a run empties and keeps empty.
  - { name: hot, match: { client: "user:hot-*" }, capacity: 200, refill: 5/s }
  # Clients that are refused soon, and then wait for seconds.
  - { name: waiting, match: { client: "user:waiting-*" }, capacity: 3, refill: 20/min }
  # Clients that stay below their limit, and one that does not.
  - { name: polite, match: { client: "user:polite-*" }, capacity: 20, refill: 5/s }
  - { name: abuser, match: { client: "user:abuser-*" }, capacity: 50, refill: 5/s }
  # Clients that never meet a limit.
  - { name: plenty, match: { client: "user:plenty-*" }, capacity: 10000, refill: 10000/s }
`

export type ClientKind = 'hot' | 'waiting' | 'polite' | 'abuser' | 'plenty'
