import { spawn, type ChildProcessByStdio } from 'node:child_process'
import type { Writable } from 'node:stream'

/** Reads `+ <group>` and `- <group>`; when nobody can write any more, kills the groups that are left. */
const SCRIPT = `trap '' INT TERM HUP QUIT
groups=
while read -r action group; do
  rest=
  for other in $groups; do [ "$other" = "$group" ] || rest="$rest $other"; done
  groups=$rest
  [ "$action" = + ] && groups="$groups $group"
done
for group in $groups; do kill -s KILL -- "-$group"; done
`

/**
 * Ends process groups when this process ends, however it ends: a small process of its own that waits for its end of a pipe to close. Started with the first
 * group, in a session of its own, so that Ctrl+C in a terminal does not reach it.
 */
export class ProcessWatcher {
  readonly #groups = new Set<number>()
  #watcher: ChildProcessByStdio<Writable, null, null> | null = null

  /** The process that watches; null: not started. */
  get processId(): number | null { return this.#watcher?.pid ?? null }

  watch(group: number): void {
    this.#groups.add(group)
    if (this.#watcher === null) this.#start()
    else this.#watcher.stdin.write(`+ ${group}\n`)
  }

  forget(group: number): void {
    this.#groups.delete(group)
    this.#watcher?.stdin.write(`- ${group}\n`)
  }

  #start(): void {
    const watcher = spawn('/bin/sh', ['-c', SCRIPT], { detached: true, stdio: ['pipe', 'ignore', 'ignore'], cwd: '/' })
    this.#watcher = watcher
    const lost = () => {
      if (this.#watcher !== watcher) return
      this.#watcher = null
      // Somebody ended it: another one takes over what is left to watch.
      if (this.#groups.size > 0) this.#start()
    }
    watcher.on('exit', lost)
    // Where no shell can be started, and where it ended with lines unread: stubs still end themselves when their socket closes.
    watcher.on('error', () => { this.#watcher = null })
    watcher.stdin.on('error', () => {})
    watcher.unref()
    ;(watcher.stdin as Writable & { unref?: () => void }).unref?.()
    for (const group of this.#groups) watcher.stdin.write(`+ ${group}\n`)
  }
}

/** Of this process. */
export const processWatcher = new ProcessWatcher()
