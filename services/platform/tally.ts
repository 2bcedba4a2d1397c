import { createLabelled } from './labelled.ts'

/** Counts by a fixed number of labels; an addition allocates nothing once its labels have been seen. */
export type Tally<Label extends string> = {
  readonly labels: readonly Label[]
  /** One value for each label, in order. */
  readonly add: (...values: readonly string[]) => void
  /** Shows them with a count of 0 until the first addition: a series that appears with its first event shows Prometheus no increase. */
  readonly declare: (...values: readonly string[]) => void
  readonly read: () => readonly { readonly labels: Readonly<Record<Label, string>>; readonly value: number }[]
}

export const createTally = <const Label extends string>(labels: readonly Label[]): Tally<Label> => {
  const counts = createLabelled(labels, () => ({ count: 0 }))
  return {
    labels,
    add: (...values) => {
      counts.at(...values).count += 1
    },
    declare: (...values) => void counts.at(...values),
    read: () => counts.read().map(({ labels: values, item }) => ({ labels: values, value: item.count })),
  }
}
