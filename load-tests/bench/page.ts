import { formatFigures, formatGoals } from './format.ts'
import { judge } from './goals.ts'
import type { Results, Run } from './results.ts'

const BEGIN = '<!-- made of bench.json by load-tests/bench/publish.ts -->'
const END = '<!-- until here -->'

/** The README with what the runs have found in its place. */
export const withResults = (readme: string, results: Results) => {
  const [begin, end] = [readme.indexOf(BEGIN), readme.indexOf(END)]
  if (begin < 0 || end < begin) throw new Error(`the README has no place between ${BEGIN} and ${END}`)
  return `${readme.slice(0, begin)}${BEGIN}\n\n${describe(results)}\n\n${readme.slice(end)}`
}

const describe = (results: Results) =>
  [
    results.runs.map(describeRun).join('\n'),
    '![Bars: processor time for a check and for a request of the API, and the time until an answer](bench.svg)',
    formatGoals(judge(results)),
    formatFigures(results),
  ].join('\n\n')

const describeRun = ({ date, command, machine, othersPart }: Run) => {
  const { cpu, cores, node, redis } = machine
  const others =
    othersPart === undefined ? '' : `; other programs took ${Math.round(othersPart * 100)} % of the cores meanwhile`
  return `- \`${command}\`, ${date.slice(0, 16).replace('T', ' ')} UTC, ${cpu}, ${cores} cores, Node ${node}, Redis ${redis}${others}`
}
