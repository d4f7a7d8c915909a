#!/usr/bin/env node
// The command `npu-console`: runs the server's command line on Node 24, from the sources in a checkout.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { node24, projectDirectory } from './node-24.mjs'

const main = join(projectDirectory, 'server-core', 'cli', 'main.ts')
const node = node24()
if (node === process.execPath) {
  await import(main)
} else {
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => { console.error(`npu-console: cannot start ${node}: ${error.message}`); process.exit(1) })
  child.on('exit', (code, signal) => { process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)) })
}
