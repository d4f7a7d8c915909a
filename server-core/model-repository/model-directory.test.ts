import { join } from 'node:path'
import { expect, it } from 'vitest'
import { TemporaryRepository } from '../testing/temporary-repository.ts'
import { readModelDirectory } from './model-directory.ts'

it('takes the config that --model-config-name names where a model has it, and sees it change', async () => {
  await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': 'a', 'm/configs/edge.pbtxt': 'b', 'm/configs/dir.pbtxt/x': '', 'm/1/model.onnx': '' })
  const read = (configName?: string) => readModelDirectory(repository.path, 'm', join(repository.path, 'm'), undefined, configName)
  const edge = await read('edge')
  expect([(await read()).configPath, edge.configPath, (await read('other')).configPath, (await read('dir')).configPath].map((path) => path?.slice(repository.path.length))).toEqual([
    '/m/config.pbtxt', '/m/configs/edge.pbtxt', '/m/config.pbtxt', '/m/config.pbtxt',
  ])
  await repository.write({ 'm/configs/edge.pbtxt': 'longer' })
  expect((await read('edge')).signature).not.toBe(edge.signature)
  expect((await read()).signature).toBe((await read('other')).signature)
})
