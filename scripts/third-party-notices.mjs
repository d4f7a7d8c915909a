// The licence texts of the npm packages that ended up inside the bundles.
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'

/** Package directories (relative to the root) that the bundled files come from. */
export function packageDirectories(root, files) {
  const directories = new Set()
  for (const file of files) {
    const parts = relative(root, file).split(sep)
    const at = parts.lastIndexOf('node_modules')
    if (at === -1 || parts[0] === '..') continue
    const end = at + (parts[at + 1]?.startsWith('@') ? 3 : 2)
    const directory = parts.slice(0, end).join('/')
    if (existsSync(join(root, directory, 'package.json'))) directories.add(directory)
  }
  return [...directories].sort()
}

/** One text file: name, version, declared licence and licence text of each package, once each. */
export function writeThirdPartyNotices(target, root, directories) {
  const sections = [...new Set(directories)].sort().map((directory) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, directory, 'package.json'), 'utf8'))
    const texts = readdirSync(join(root, directory)).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file))
      .map((file) => readFileSync(join(root, directory, file), 'utf8').trim())
    const declared = typeof license === 'string' ? license : (license?.type ?? 'see the package')
    return [`${name} ${version}`, `Licence: ${declared}`, '', ...(texts.length > 0 ? texts : ['(The package carries no licence text of its own.)'])].join('\n')
  })
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, `Packages bundled into the NPU Serving Console\n\n${sections.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`)
}
