// A client that keeps to the rules, in a process of its own, so that nothing but the API keeps it waiting: visits at a fixed
// rate, each of them an order created, read, found in the list and removed. Asked for a report, it tells what it met since the
// last one.
import { Agent, request } from 'node:http'

export type LegitReport = {
  readonly latenciesMs: readonly number[]
  /** What was not the right answer, or not there in time. */
  readonly wrong: readonly string[]
}

const VISITS_PER_S = 25
const DEADLINE_MS = 20_000
/** So many that all their orders are on the first page of the list, however slow the machine is. */
const MAX_VISITS = 80

const agent = new Agent({ keepAlive: true })
let latenciesMs: number[] = []
let wrong: string[] = []

type Answer = { readonly status: number; readonly body: string }

const send = (method: string, path: string, body?: string) =>
  new Promise<Answer>((resolve, reject) => {
    const startMs = performance.now()
    const sent = request(
      `${process.env['API_URL']}${path}`,
      {
        agent,
        method,
        headers: {
          authorization: `Bearer ${process.env['API_KEY']}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        signal: AbortSignal.timeout(DEADLINE_MS),
      },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (part) => (text += part))
        response.once('error', reject)
        response.once('end', () => {
          latenciesMs.push(performance.now() - startMs)
          resolve({ status: response.statusCode ?? 0, body: text })
        })
      },
    )
    sent.once('error', reject)
    sent.end(body)
  })

const expectStatus = ({ status, body }: Answer, right: number) => {
  if (status !== right) throw new Error(`${status} instead of ${right}: ${body}`)
}

const visit = async () => {
  const order = { currency: 'EUR', items: [{ sku: 'A', quantity: 1, unit_price: 100 }] }
  const created = await send('POST', '/v1/orders', JSON.stringify(order))
  expectStatus(created, 201)
  const { id } = JSON.parse(created.body)
  const read = await send('GET', `/v1/orders/${id}`)
  expectStatus(read, 200)
  if (read.body !== created.body) throw new Error(`not what was created: ${read.body}`)
  const list = await send('GET', '/v1/orders?limit=100')
  expectStatus(list, 200)
  if (!list.body.includes(id)) throw new Error(`${id} is not in the list`)
  expectStatus(await send('DELETE', `/v1/orders/${id}`), 204)
}

let visits = 0
setInterval(async () => {
  if (visits === MAX_VISITS) return
  visits += 1
  try {
    await visit()
  } catch (error) {
    wrong.push(String(error))
  }
  visits -= 1
}, 1000 / VISITS_PER_S)

process.on('message', () => {
  process.send?.({ latenciesMs, wrong } satisfies LegitReport)
  latenciesMs = []
  wrong = []
})
process.once('disconnect', () => process.exit())
