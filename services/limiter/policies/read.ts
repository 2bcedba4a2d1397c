import type { Stats } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileProblem, type PolicyFile, type PolicyProblem } from './problem.ts'
import { MAX_FILE_BYTES, TOO_LARGE } from './source.ts'

const MAX_FILES = 100

export type ReadFiles =
  | { readonly ok: true; readonly files: readonly PolicyFile[] }
  | { readonly ok: false; readonly problems: readonly PolicyProblem[] }

/** Reads a policy file, or all that lie directly in a folder, by name. */
export const readPolicyFiles = async (path: string): Promise<ReadFiles> => {
  const entry = await attempt(path, stat(path))
  if (!entry.ok) return entry
  if (!entry.value.isDirectory()) return gather([await readPolicyFile(path, entry.value)])
  const listed = await attempt(path, readdir(path))
  if (!listed.ok) return listed
  const names = listed.value.filter(isPolicyFile).sort()
  if (names.length > MAX_FILES)
    return failed(path, `has more than ${MAX_FILES} policy files: put several domains in one`)
  const read = await Promise.all(names.map((name) => readFolderEntry(join(path, name))))
  const files = read.filter((file) => file !== 'folder')
  return files.length > 0 ? gather(files) : failed(path, 'has no policy file: put a .yaml, .yml or .json file into it')
}

// A leading dot hides a file: Kubernetes keeps a ConfigMap's versions in such folders, editors their drafts.
const isPolicyFile = (name: string) => /^[^.].*\.(?:yaml|yml|json)$/.test(name)

type Attempt<T> = { readonly ok: true; readonly value: T } | Failed
type Failed = Extract<ReadFiles, { ok: false }>
type ReadFile = { readonly ok: true; readonly value: PolicyFile } | Failed

const readFolderEntry = async (path: string): Promise<ReadFile | 'folder'> => {
  const entry = await attempt(path, stat(path))
  if (!entry.ok) return entry
  return entry.value.isDirectory() ? 'folder' : readPolicyFile(path, entry.value)
}

const readPolicyFile = async (path: string, entry: Stats): Promise<ReadFile> => {
  if (!entry.isFile()) return failed(path, 'is neither a file nor a folder: name one')
  if (entry.size > MAX_FILE_BYTES) return failed(path, TOO_LARGE)
  const read = await attempt(path, readFile(path))
  if (!read.ok) return read
  const text = decode(read.value)
  if (text === undefined) return failed(path, 'is not UTF-8: save it as UTF-8')
  return { ok: true, value: { name: path, text } }
}

const decode = (bytes: Uint8Array) => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

const gather = (read: readonly ReadFile[]): ReadFiles => {
  const problems = read.flatMap((file) => (file.ok ? [] : file.problems))
  if (problems.length > 0) return { ok: false, problems }
  return { ok: true, files: read.flatMap((file) => (file.ok ? [file.value] : [])) }
}

const attempt = async <T>(path: string, operation: Promise<T>): Promise<Attempt<T>> => {
  try {
    return { ok: true, value: await operation }
  } catch (error) {
    return failed(path, reasonFor(error))
  }
}

const failed = (path: string, problem: string): Failed => ({ ok: false, problems: [fileProblem(path, problem)] })

const reasonFor = (error: unknown) => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'does not exist: name a policy file, or a folder of them'
  if (code === 'EACCES') return 'may not be read by this user: give it permission'
  return `cannot be read: ${error instanceof Error ? error.message : String(error)}`
}
