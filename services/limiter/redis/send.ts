import { Command } from 'ioredis'

type Sender = { readonly sendCommand: (command: Command) => unknown }

/** `over`: the socket that the command went through. */
export type Sent = { readonly reply: unknown; readonly over: object | undefined }

const REDIRECTION = /^(?:MOVED|ASK|TRYAGAIN|CLUSTERDOWN)\b/

/**
 * Sends one command and tells what ioredis does not: whether a command that failed with its connection had been written to one.
 * If not, or if the node it was written to only redirected it, it has not run: the error's message begins with NOTSENT.
 */
export const send = async (client: Sender, name: string, values: readonly (string | Buffer)[]): Promise<Sent> => {
  const command = new Command(name, [...values], { replyEncoding: null })
  let written = false
  let over: object | undefined
  const toWritable = command.toWritable.bind(command)
  command.toWritable = (socket) => {
    written = true
    over = socket
    return toWritable(socket)
  }
  client.sendCommand(command)
  // A cluster client sees a redirection here and sends the command to another node, or gives up.
  const { reject } = command
  command.reject = (error) => {
    if (REDIRECTION.test(error.message)) written = false
    reject.call(command, error)
  }
  try {
    return { reply: await command.promise, over }
  } catch (error) {
    if (written || !(error instanceof Error) || REDIRECTION.test(error.message)) throw error
    throw new Error(`NOTSENT ${error.message}`, { cause: error })
  }
}
