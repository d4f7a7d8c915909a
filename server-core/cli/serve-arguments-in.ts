import { SERVE_FLAGS } from './flags.ts'

const VALUE_BY_NAME = new Map(SERVE_FLAGS.flatMap((flag) => flag.names.map((name): [string, string] => [name, flag.value])))

/**
 * The flags of `serve` among the arguments of another program (the desktop's, between switches of its own and Chromium's), in their order,
 * each with its value. Everything else is left out.
 */
export function serveArgumentsIn(argv: readonly string[]): readonly string[] {
  const found: string[] = []
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index] ?? ''
    const value = VALUE_BY_NAME.get(argument.split('=')[0] ?? '')
    if (value === undefined) continue
    found.push(argument)
    const next = argv[index + 1]
    if (value !== '' && !argument.includes('=') && next !== undefined) {
      found.push(next)
      index++
    }
  }
  return found
}
