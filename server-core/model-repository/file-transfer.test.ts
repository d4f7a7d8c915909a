import { chmodSync, existsSync, linkSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ImportFolder } from '../testing/import-fixture.ts'
import { transferFile, TRANSFER_SYSTEM } from './file-transfer.ts'
import type { TransferMode, TransferSystem } from './file-transfer.ts'

const CONTENT = Buffer.alloc(9 * 1024 * 1024, 'weights')

function failing(code: string): () => Promise<never> {
  return () => Promise.reject(Object.assign(new Error(code), { code }))
}

/** A file system without reflinks, as ext4 is. */
const PLAIN: TransferSystem = { ...TRANSFER_SYSTEM, reflink: failing('ENOTSUP') }

async function transfer(folder: ImportFolder, system: TransferSystem, options: { mode?: TransferMode; signal?: AbortSignal; onBytes?: (count: number) => void } = {}) {
  const source = folder.write({ 'net.onnx': CONTENT })
  const target = join(folder.root, 'model.onnx')
  const counts: number[] = []
  const method = await transferFile(source, target, { mode: 'copy', signal: new AbortController().signal, onBytes: (count) => { counts.push(count) }, ...options }, system)
  return { source, target, method, counts }
}

const NOBODY = 65534

test('shares blocks where the file system can', async () => {
  using folder = new ImportFolder()
  const { method, counts, target, source } = await transfer(folder, { ...TRANSFER_SYSTEM, reflink: async (from, to) => { linkSync(from, to) } })
  expect({ method, counts, source }).toEqual({ method: 'reflink', counts: [CONTENT.length], source })
  expect(statSync(target).size).toBe(CONTENT.length)
})

test.each(['ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EXDEV', 'EINVAL', 'ENOTTY'])('copies, with progress, where a reflink fails with %s', async (code) => {
  using folder = new ImportFolder()
  const { method, target, counts, source } = await transfer(folder, { ...TRANSFER_SYSTEM, reflink: failing(code) })
  expect(method).toBe('copy')
  expect(readFileSync(target).equals(CONTENT)).toBe(true)
  expect(counts.length).toBeGreaterThan(2)
  expect(counts.reduce((sum, count) => sum + count)).toBe(CONTENT.length)
  expect(statSync(target).ino).not.toBe(statSync(source).ino)
})

test('the real system call leaves no half file where it cannot share blocks', async () => {
  using folder = new ImportFolder()
  const { method, target } = await transfer(folder, TRANSFER_SYSTEM)
  expect(['reflink', 'copy']).toContain(method)
  expect(readFileSync(target).equals(CONTENT)).toBe(true)
})

test('links only when told to, and copies where a link is not possible', async () => {
  using folder = new ImportFolder()
  const linked = await transfer(folder, PLAIN, { mode: 'link' })
  expect(linked.method).toBe('link')
  expect(statSync(linked.target).ino).toBe(statSync(linked.source).ino)
  using other = new ImportFolder()
  expect((await transfer(other, { ...PLAIN, link: failing('EXDEV') }, { mode: 'link' })).method).toBe('copy')
})

test('moves what is ours, and copies it from another file system', async () => {
  using folder = new ImportFolder()
  const moved = await transfer(folder, PLAIN, { mode: 'move' })
  expect(moved.method).toBe('move')
  expect(existsSync(moved.source)).toBe(false)
  using other = new ImportFolder()
  expect((await transfer(other, { ...PLAIN, rename: failing('EXDEV') }, { mode: 'move' })).method).toBe('copy')
})

test('stops between two writes when it is cancelled', async () => {
  using folder = new ImportFolder()
  const cancel = new AbortController()
  let copied = 0
  const onBytes = (count: number) => { copied += count; cancel.abort() }
  await expect(transfer(folder, PLAIN, { signal: cancel.signal, onBytes })).rejects.toMatchObject({ kind: 'CANCELLED' })
  expect(copied).toBeLessThan(CONTENT.length)
})

test('says before it begins when the disk has no room', async () => {
  using folder = new ImportFolder()
  await expect(transfer(folder, { ...PLAIN, freeBytes: () => Promise.resolve(100) })).rejects.toThrow(`has 100 bytes free, and`)
  expect(existsSync(join(folder.root, 'model.onnx'))).toBe(false)
})

test.each([['ENOSPC', 'is full'], ['EDQUOT', 'quota'], ['EROFS', 'read-only'], ['EACCES', 'no permission to write'], ['EIO', 'error']])('a write that fails with %s says so', async (code, text) => {
  using folder = new ImportFolder()
  await expect(transfer(folder, { ...PLAIN, write: failing(code) })).rejects.toMatchObject({ kind: 'UNAVAILABLE', message: expect.stringContaining(text) as string })
})

test('a source that shrinks while it is copied is no model', async () => {
  using folder = new ImportFolder()
  const shrink = () => { truncateSync(join(folder.root, 'net.onnx'), 5 * 1024 * 1024) }
  await expect(transfer(folder, PLAIN, { onBytes: shrink })).rejects.toThrow('changed while it was copied')
})

test('a source that is gone is named', async () => {
  using folder = new ImportFolder()
  const missing = transferFile(join(folder.root, 'gone.onnx'), join(folder.root, 'x'), { mode: 'copy', signal: new AbortController().signal, onBytes: () => {} })
  await expect(missing).rejects.toMatchObject({ kind: 'NOT_FOUND', message: expect.stringContaining('gone.onnx\' is not there any more') as string })
})

/** Root may read everything: for a moment the process is somebody else. */
async function asOrdinaryUser(work: () => Promise<void>): Promise<void> {
  if (process.geteuid?.() !== 0) return work()
  process.seteuid?.(NOBODY)
  try {
    await work()
  } finally {
    process.seteuid?.(0)
  }
}

test('a source that may not be read is named', async () => {
  using folder = new ImportFolder()
  const source = folder.write({ 'a.onnx': 'x' })
  chmodSync(folder.root, 0o755)
  chmodSync(source, 0)
  await asOrdinaryUser(async () => {
    await expect(transferFile(source, join(folder.root, 'x'), { mode: 'copy', signal: new AbortController().signal, onBytes: () => {} })).rejects.toThrow('no permission to read')
  })
})
