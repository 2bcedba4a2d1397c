/** One thing that the run was to show, whether it did, and the figures behind that. `unchecked`: nothing told. */
export type Finding = {
  readonly claim: string
  readonly outcome: 'holds' | 'fails' | 'unchecked'
  readonly figures: string
}

export const finding = (claim: string, holds: boolean, figures: string): Finding => ({
  claim,
  outcome: holds ? 'holds' : 'fails',
  figures,
})

export const failuresOf = (findings: readonly Finding[]) => findings.filter(({ outcome }) => outcome === 'fails')

export const describeFinding = ({ claim, figures }: Finding) => `${claim}: ${figures}`
