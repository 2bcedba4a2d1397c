import { lookup } from 'node:dns/promises'
import type { Names } from '../../seams/names.ts'

/** As the machine resolves names: its hosts file, then its DNS. */
export const systemNames: Names = {
  resolve: async (host) => {
    try {
      return (await lookup(host, { all: true })).map(({ address }) => address)
    } catch {
      return []
    }
  },
}
