import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hashText } from './hash.ts'
import { choosePlace, openPlace } from './placement.ts'

type Named = ReturnType<typeof openPlace> & { readonly name: string }

const placesOf = (names: readonly string[]): readonly Named[] => names.map((name) => ({ ...openPlace(name), name }))

/** As a Deployment's pods have them. */
const addresses = (count: number) =>
  Array.from({ length: count }, (_, index) => `10.42.${index % 3}.${17 + index}:50051`)

const anyNames = fc.uniqueArray(fc.ipV4(), { minLength: 1, maxLength: 12 })
const anySubject = fc.string({ minLength: 1, maxLength: 30 }).map(hashText)

/** Numbers that are the same in each run. */
const openRandom = (seed: number) => {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

describe('a subject', () => {
  test('has the same place for everybody who asks, whatever order they know the places in', () => {
    fc.assert(
      fc.property(anyNames, anySubject, fc.gen(), (names, subject, gen) => {
        const shuffled = gen(fc.shuffledSubarray, names, { minLength: names.length })
        expect(choosePlace(placesOf(shuffled), subject)?.name).toBe(choosePlace(placesOf(names), subject)?.name)
      }),
    )
  })

  test('moves only to a place that joins, and only when its own place leaves', () => {
    fc.assert(
      fc.property(
        anyNames,
        fc.ipV6(),
        fc.array(anySubject, { minLength: 50, maxLength: 50 }),
        (names, joins, subjects) => {
          const few = placesOf(names)
          const more = placesOf([...names, joins])
          for (const subject of subjects) {
            const before = choosePlace(few, subject)?.name
            const after = choosePlace(more, subject)?.name
            expect([before, joins]).toContain(after)
          }
        },
      ),
    )
  })
})

test('of 100,000 subjects each of 8 places has an eighth, and a ninth place takes a ninth', () => {
  const counted = (places: readonly Named[]) => {
    const counts = new Map<string, number>()
    for (let index = 0; index < 100_000; index += 1) {
      const name = choosePlace(places, hashText(`user:${index}`))?.name ?? ''
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    return [...counts.values()]
  }
  for (const count of [8, 9])
    for (const part of counted(placesOf(addresses(count)))) expect(Math.abs(part - 100_000 / count)).toBeLessThan(600)
})

/** 250 ms apart, as the replica set does it. */
const forgetHalf = (places: readonly Named[]) => {
  for (const place of places) place.load /= 2
}

type Run = {
  readonly places: number
  readonly exponent: number
  readonly checksPerRound: number
  readonly rounds: number
}

/** Checks of 10,000 subjects, the k-th of which asks in proportion to 1 / k^exponent. */
const distribute = ({ places: count, exponent, checksPerRound, rounds }: Run) => {
  const random = openRandom(7)
  const places = placesOf(addresses(count))
  const weights = Array.from({ length: 10_000 }, (_, index) => 1 / (index + 1) ** exponent)
  const sums: number[] = []
  for (const weight of weights) sums.push((sums.at(-1) ?? 0) + weight)
  const totals = new Map(places.map((place) => [place, 0]))
  const homes = new Map<number, Map<Named, number>>()
  for (let round = 0; round < rounds; round += 1) {
    for (let check = 0; check < checksPerRound; check += 1) {
      const subject = hashText(`user:${firstAbove(sums, random() * (sums.at(-1) ?? 0))}`)
      const place = choosePlace(places, subject)
      if (place === undefined) throw new Error('there is a place')
      place.load += 1
      totals.set(place, (totals.get(place) ?? 0) + 1)
      const seen = homes.get(subject) ?? new Map<Named, number>()
      homes.set(subject, seen.set(place, (seen.get(place) ?? 0) + 1))
    }
    forgetHalf(places)
  }
  const mean = (checksPerRound * rounds) / count
  const atHome = [...homes.values()].reduce((sum, seen) => sum + Math.max(...seen.values()), 0)
  return { maxByMean: Math.max(...totals.values()) / mean, atHome: atHome / (checksPerRound * rounds) }
}

const firstAbove = (sums: readonly number[], value: number) => {
  let low = 0
  let high = sums.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sums[middle] ?? 0) < value) low = middle + 1
    else high = middle
  }
  return low
}

describe('a load in which few subjects ask for most', () => {
  test.each([
    { places: 2, exponent: 1 },
    { places: 4, exponent: 1 },
    { places: 8, exponent: 1 },
    { places: 8, exponent: 1.2 },
  ])('is even within the bound: %j', ({ places, exponent }) => {
    const { maxByMean, atHome } = distribute({ places, exponent, checksPerRound: 1_000, rounds: 40 })
    console.info(
      `${places} places, Zipf ${exponent}: max/mean ${maxByMean.toFixed(3)}, at home ${(atHome * 100).toFixed(1)} %`,
    )
    expect(maxByMean).toBeLessThan(1.3)
    expect(atHome).toBeGreaterThan(0.7)
  })

  test('one subject that asks for everything is spread over several places', () => {
    const places = placesOf(addresses(4))
    const subject = hashText('user:abuser')
    const totals = new Map<Named, number>()
    for (let check = 0; check < 10_000; check += 1) {
      const place = choosePlace(places, subject)
      if (place === undefined) throw new Error('there is a place')
      place.load += 1
      totals.set(place, (totals.get(place) ?? 0) + 1)
    }
    expect(totals.size).toBe(4)
    expect(Math.max(...totals.values())).toBeLessThan(3_300)
  })
})

test('among no places there is none', () => {
  expect(choosePlace([], 1)).toBeUndefined()
})
