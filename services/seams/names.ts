export type Names = {
  /** The IP addresses that a host's name stands for now, in any order; none when it stands for nothing or nobody can say. */
  readonly resolve: (host: string) => Promise<readonly string[]>
}
