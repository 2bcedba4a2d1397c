import { newItemId } from './identifiers.ts'
import type { Item, ItemContent } from './order.ts'

/**
 * The items as wanted, with identities. Items are listed by id, so ids must ascend in the wanted order; within that, the
 * items that an order begins with keep theirs: a change of quantity, a removal or an addition at the end leaves everybody
 * else's walk over the pages undisturbed.
 */
export const identifyItems = (present: readonly Item[], wanted: readonly ItemContent[]): readonly Item[] => {
  const kept = keptIds(present, wanted)
  const added = wanted.slice(kept.length).map(newItemId)
  const lastKept = kept.at(-1)
  const firstAdded = added[0]
  // Another replica's clock may be ahead of this one's.
  const isAscending = lastKept === undefined || firstAdded === undefined || lastKept < firstAdded
  const ids = isAscending ? [...kept, ...added] : wanted.map(newItemId)
  return wanted.map((content, index) => ({ ...content, id: ids[index] ?? newItemId() }))
}

/** The ids of those wanted items, from the first on, that are there with the same sku and in the same order. */
const keptIds = (present: readonly Item[], wanted: readonly ItemContent[]) => {
  const ids: string[] = []
  let from = 0
  for (const { sku } of wanted) {
    const at = present.findIndex((item, index) => index >= from && item.sku === sku)
    const item = present[at]
    if (item === undefined) break
    ids.push(item.id)
    from = at + 1
  }
  return ids
}
