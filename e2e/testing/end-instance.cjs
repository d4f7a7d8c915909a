/**
 * Loaded into the server process ahead of it (NODE_OPTIONS): SIGUSR2 ends the thread of the model instance with the first name, as a crash
 * in it does.
 */
const { isMainThread } = process.getBuiltinModule('node:worker_threads')

if (isMainThread) {
  const running = new Set()
  process.on('worker', (worker) => {
    running.add(worker)
    worker.once('exit', () => running.delete(worker))
  })
  process.on('SIGUSR2', () => {
    const [first] = [...running].sort((a, b) => (a.threadName < b.threadName ? -1 : 1))
    if (first !== undefined) void first.terminate()
  })
}
