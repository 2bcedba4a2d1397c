/** One item for each combination of labels that was seen, as a tree of maps: finding an item allocates nothing once it is there. */
export type Labelled<Label extends string, T> = {
  readonly labels: readonly Label[]
  /** One value for each label, in order. */
  readonly at: (...values: readonly string[]) => T
  readonly read: () => readonly { readonly labels: Readonly<Record<Label, string>>; readonly item: T }[]
}

type Node<T> = { item: T | undefined; readonly children: Map<string, Node<T>> }

export const createLabelled = <const Label extends string, T>(
  labels: readonly Label[],
  createItem: () => T,
): Labelled<Label, T> => {
  const root = createNode<T>()

  const leaves = (node: Node<T>, values: readonly string[]): readonly { values: readonly string[]; item: T }[] => [
    ...(node.item === undefined ? [] : [{ values, item: node.item }]),
    ...[...node.children].flatMap(([value, child]) => leaves(child, [...values, value])),
  ]

  return {
    labels,
    at: (...values) => {
      let node = root
      for (const value of values) {
        let child = node.children.get(value)
        if (child === undefined) {
          child = createNode<T>()
          node.children.set(value, child)
        }
        node = child
      }
      node.item ??= createItem()
      return node.item
    },
    read: () =>
      leaves(root, []).map(({ values, item }) => ({
        labels: Object.fromEntries(labels.map((label, index) => [label, values[index] ?? ''])) as Record<Label, string>,
        item,
      })),
  }
}

const createNode = <T>(): Node<T> => ({ item: undefined, children: new Map() })
