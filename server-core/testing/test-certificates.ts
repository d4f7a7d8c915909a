/** Certificates for tests of TLS, made by openssl into a folder of the test's own. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export class TestCertificates implements Disposable {
  readonly directory = mkdtempSync(join(tmpdir(), 'npu-console-certificates-'))

  constructor() {
    this.#root('ca')
    this.#root('stranger')
    this.#signed('server', 'ca')
    this.#signed('client', 'ca')
    this.#signed('intruder', 'stranger')
  }

  /** Of `ca.crt`, `stranger.crt` and `.crt` and `.key` of server, client (both signed by ca) and intruder. */
  path(file: string): string { return join(this.directory, file) }

  read(file: string): Buffer { return readFileSync(this.path(file)) }

  [Symbol.dispose](): void { rmSync(this.directory, { recursive: true, force: true }) }

  #root(name: string): void {
    this.#openssl(['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.crt`])
  }

  #signed(name: string, by: string): void {
    this.#openssl(['req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost', '-keyout', `${name}.key`, '-out', `${name}.csr`])
    this.#openssl(['x509', '-req', '-in', `${name}.csr`, '-CA', `${by}.crt`, '-CAkey', `${by}.key`, '-CAcreateserial', '-days', '2', '-copy_extensions', 'copy', '-out', `${name}.crt`])
  }

  #openssl(args: readonly string[]): void { execFileSync('openssl', args, { cwd: this.directory, stdio: 'pipe' }) }
}
