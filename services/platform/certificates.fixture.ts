import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Certificate = {
  /** Paths of PEM files, and what is in them. */
  readonly cert: string
  readonly key: string
  readonly certText: string
  readonly keyText: string
}

const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

/** A certificate authority in a folder of its own, that signs for 127.0.0.1 and localhost. */
export const createAuthority = () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-ca-'))
  const at = (name: string) => join(folder, name)
  const openssl = (...options: readonly string[]) => execFileSync('openssl', options, { stdio: 'ignore' })
  openssl('req', '-x509', ...EC, '-days', '2', '-subj', '/CN=test CA', '-keyout', at('ca.key'), '-out', at('ca.pem'))
  let issued = 0

  return {
    ca: at('ca.pem'),
    caText: readFileSync(at('ca.pem'), 'utf8'),
    /** A negative number of days: expired. */
    issue: (name: string, { days = 2 } = {}): Certificate => {
      issued += 1
      const [key, request, cert] = [at(`${issued}.key`), at(`${issued}.csr`), at(`${issued}.pem`)]
      const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1'
      openssl('req', ...EC, '-subj', `/CN=${name}`, '-addext', names, '-keyout', key, '-out', request)
      const authority = ['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial']
      openssl(
        'x509',
        '-req',
        '-in',
        request,
        ...authority,
        '-days',
        `${days}`,
        '-copy_extensions',
        'copy',
        '-out',
        cert,
      )
      return { cert, key, certText: readFileSync(cert, 'utf8'), keyText: readFileSync(key, 'utf8') }
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  }
}
