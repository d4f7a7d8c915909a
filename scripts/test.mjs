// npm test: type check, lint, build, unit and integration tests, end-to-end tests in a real Chromium. Nothing passes by being skipped: a missing
// browser or native build fails and names the fix. Ends with the plain line `N passed, N failed, N skipped`.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { node24, projectDirectory } from './node-24.mjs'
import { chromiumPath, ensureTestPrerequisites, pythonPath } from './test-prerequisites.mjs'

const node = node24()
const reports = join(projectDirectory, 'test-results', 'reports')
const total = { passed: 0, failed: 0, skipped: 0 }
const environment = {
  ...process.env,
  NODE: node,
  PATH: `${join(node, '..')}:${process.env.PATH}`,
}

function run(title, script, args, extra = {}) {
  console.log(`\n== ${title}`)
  const started = Date.now()
  const result = spawnSync(node, [join(projectDirectory, script), ...args], { cwd: projectDirectory, stdio: 'inherit', env: { ...environment, ...extra } })
  console.log(`== ${title}: ${result.status === 0 ? 'ok' : 'FAILED'} in ${Math.round((Date.now() - started) / 1000)} s`)
  return result.status === 0
}

function count(isPassed) {
  if (isPassed) total.passed++
  else total.failed++
  return isPassed
}

/** Adds a runner's own counts; a runner that failed without counting a failure (a crash, no tests) counts as one. */
function addCounts({ passed, failed, skipped }, isOk) {
  total.passed += passed
  total.failed += failed
  total.skipped += skipped
  if ((!isOk && failed === 0) || passed + failed === 0) total.failed++
}

function readReport(name) {
  const path = join(reports, name)
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined
}

rmSync(reports, { recursive: true, force: true })
mkdirSync(reports, { recursive: true })

if (!ensureTestPrerequisites()) count(false)
Object.assign(environment, { CHROMIUM_PATH: chromiumPath() ?? '', PYTHON: pythonPath() })

count(run('type check', 'scripts/typecheck.mjs', []))
count(run('lint', 'node_modules/eslint/bin/eslint.js', ['.']))
const isBuilt = count(run('build', 'scripts/build.mjs', []))

const unitOk = run('unit and integration tests', 'node_modules/vitest/vitest.mjs', ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${join(reports, 'vitest.json')}`])
const unit = readReport('vitest.json')
addCounts({ passed: unit?.numPassedTests ?? 0, failed: unit?.numFailedTests ?? 0, skipped: (unit?.numPendingTests ?? 0) + (unit?.numTodoTests ?? 0) }, unitOk)

if (isBuilt) {
  const e2eOk = run('end-to-end tests', 'node_modules/@playwright/test/cli.js', ['test', '--config', 'e2e/playwright.config.ts'], { PLAYWRIGHT_JSON_OUTPUT_FILE: join(reports, 'playwright.json') })
  const stats = readReport('playwright.json')?.stats
  addCounts({ passed: (stats?.expected ?? 0) + (stats?.flaky ?? 0), failed: stats?.unexpected ?? 0, skipped: stats?.skipped ?? 0 }, e2eOk)
} else {
  console.log('end-to-end tests: not run, the build failed')
  total.failed++
}
if (!process.env.ELECTRON_E2E_PATH) {
  console.log('desktop-real: not run, no Electron runtime')
  total.skipped++
}

console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
process.exit(total.failed === 0 ? 0 : 1)
