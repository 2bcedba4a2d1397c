/** For the environment of a program: it listens to the port late, as on a machine that has other things to do. */
export const listensLate = (port: number, lateMs = 1_500) => {
  const source = `
    import { Server } from 'node:net'
    const { listen } = Server.prototype
    Server.prototype.listen = function (...given) {
      setTimeout(() => listen.apply(this, given), given[0]?.port === ${port} ? ${lateMs} : 0)
      return this
    }`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(source)}` }
}
