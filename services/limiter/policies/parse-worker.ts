// Entry of the thread that parse-aside.ts starts.
import { parentPort, workerData } from 'node:worker_threads'
import { parsePolicies } from './parse.ts'

parentPort?.postMessage(parsePolicies(workerData))
