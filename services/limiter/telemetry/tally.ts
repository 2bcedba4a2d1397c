/** Counts by a fixed number of labels, as a tree of maps: an addition allocates nothing once its labels have been seen. */
export type Tally<Label extends string> = {
  readonly labels: readonly Label[]
  /** One value for each label, in order. */
  readonly add: (...values: readonly string[]) => void
  readonly read: () => readonly { readonly labels: Readonly<Record<Label, string>>; readonly value: number }[]
}

type Node = { count: number; readonly children: Map<string, Node> }

export const createTally = <const Label extends string>(labels: readonly Label[]): Tally<Label> => {
  const root = createNode()

  const leaves = (node: Node, values: readonly string[]): readonly { values: readonly string[]; count: number }[] =>
    values.length === labels.length
      ? [{ values, count: node.count }]
      : [...node.children].flatMap(([value, child]) => leaves(child, [...values, value]))

  return {
    labels,
    add: (...values) => {
      let node = root
      for (const value of values) {
        let child = node.children.get(value)
        if (child === undefined) {
          child = createNode()
          node.children.set(value, child)
        }
        node = child
      }
      node.count += 1
    },
    read: () =>
      leaves(root, []).map(({ values, count }) => ({
        labels: Object.fromEntries(labels.map((label, index) => [label, values[index] ?? ''])) as Record<Label, string>,
        value: count,
      })),
  }
}

const createNode = (): Node => ({ count: 0, children: new Map() })
