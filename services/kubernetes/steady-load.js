// Runs in k6, in a pod: asks for URL with KEY at RATE requests a second until it is stopped. Each request is a line when it is sent
// (`> number time`) and one when it is answered (`< number time status duration`), in milliseconds; load.ts reads them.
// biome-ignore-start lint/correctness/noUndeclaredDependencies: k6 brings these modules itself.
import exec from 'k6/execution'
import http from 'k6/http'

// biome-ignore-end lint/correctness/noUndeclaredDependencies: until here.

const { URL, KEY, RATE, CONNECTIONS } = __ENV

export const options = {
  noConnectionReuse: CONNECTIONS === 'new',
  scenarios: {
    steady: {
      executor: 'constant-arrival-rate',
      rate: Number(RATE),
      timeUnit: '1s',
      duration: '30m',
      preAllocatedVUs: Number(RATE),
      maxVUs: Number(RATE) * 4,
    },
  },
}

const isDecision = (status) => status === 200 || status === 429

const ask = () => {
  const number = exec.scenario.iterationInTest
  console.log(`> ${number} ${Date.now()}`)
  const { status, timings, error, body } = http.get(URL, {
    headers: { authorization: `Bearer ${KEY}` },
    timeout: '30s',
  })
  console.log(
    `< ${number} ${Date.now()} ${status} ${timings.duration.toFixed(2)} ${isDecision(status) ? '' : error || body}`,
  )
}

// biome-ignore lint/style/noDefaultExport: k6 calls the default export.
export default ask
