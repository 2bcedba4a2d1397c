import { Command } from 'ioredis'

type Sender = { readonly sendCommand: (command: Command) => unknown }

const REDIRECTION = /^(?:MOVED|ASK|TRYAGAIN|CLUSTERDOWN)\b/

/**
 * Sends one command and tells what ioredis does not: whether a command that failed with its connection had been written to one.
 * If not, or if the node it was written to only redirected it, it has not run: the error's message begins with NOTSENT.
 */
export const send = async (client: Sender, name: string, values: readonly (string | Buffer)[]): Promise<unknown> => {
  const command = new Command(name, [...values], { replyEncoding: null })
  let written = false
  const toWritable = command.toWritable.bind(command)
  command.toWritable = (socket) => {
    written = true
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
    return await command.promise
  } catch (error) {
    if (written || !(error instanceof Error) || REDIRECTION.test(error.message)) throw error
    throw new Error(`NOTSENT ${error.message}`, { cause: error })
  }
}
