import { describe, expect, it } from 'vitest'
import { matchRoute } from './routes.ts'

describe('matchRoute', () => {
  it.each([
    ['/v2', 'serverMetadata', '', '', ''],
    ['/v2?x=1', 'serverMetadata', '', '', ''],
    ['/v2/health/live', 'serverLive', '', '', ''],
    ['/v2/health/ready', 'serverReady', '', '', ''],
    ['/v2/models/stats', 'modelStatistics', '', '', ''],
    ['/v2/models/m', 'modelMetadata', 'm', '', ''],
    ['/v2/models/m/versions/3', 'modelMetadata', 'm', '3', ''],
    ['/v2/models/m/versions/3/infer', 'infer', 'm', '3', ''],
    ['/v2/models/a%20b/infer', 'infer', 'a%20b', '', ''],
    ['/v2/models/m/ready', 'modelReady', 'm', '', ''],
    ['/v2/models/m/config', 'modelConfig', 'm', '', ''],
    ['/v2/models/m/stats', 'modelStatistics', 'm', '', ''],
    ['/v2/models/stats/infer', 'infer', 'stats', '', ''],
    ['/v2/models/m/traffic', 'modelTraffic', 'm', '', ''],
    ['/v2/models/m/generate', 'generate', 'm', '', ''],
    ['/v2/models/m/generate_stream', 'generateStream', 'm', '', ''],
    ['/v2/models/m/trace/setting', 'trace', 'm', '', ''],
    ['/v2/trace/setting', 'trace', '', '', ''],
    ['/v2/logging', 'logging', '', '', ''],
    ['/v2/npu/faults', 'npuFaults', '', '', ''],
    ['/v2/repository/index', 'repositoryIndex', '', '', ''],
    ['/v2/repository/r/index', 'repositoryIndex', '', '', 'r'],
    ['/v2/repository/models/index', 'repositoryIndex', '', '', 'models'],
    ['/v2/repository/models/m/load', 'modelLoad', 'm', '', ''],
    ['/v2/repository/r/models/m/unload', 'modelUnload', 'm', '', 'r'],
    ['/v2/systemsharedmemory/status', 'systemSharedMemoryStatus', '', '', ''],
    ['/v2/systemsharedmemory/region/r/register', 'systemSharedMemoryRegister', '', '', 'r'],
    ['/v2/cudasharedmemory/region/r/unregister', 'cudaSharedMemoryUnregister', '', '', 'r'],
  ])('%s is %s', (path, kind, model, version, qualifier) => {
    expect(matchRoute(path)).toEqual({ kind, model, version, qualifier })
  })

  it.each([
    '/', '', '/v2/', '/V2', '/v1', '//v2', '/v2/models', '/v2/models/', '/v2/models/m/', '/v2/models//infer', '/v2/models/m/INFER',
    '/v2/models/m/versions', '/v2/models/m/versions/abc', '/v2/models/m/versions/1/trace/setting', '/v2/models/m/versions/1/traffic', '/v2/models/m/versions/1/infer/x',
    '/v2/models/m/infer/', '/v2/models/a/b/infer', '/v2/health', '/v2/health/live/x', '/v2/repository', '/v2/repository/models/m/reload',
    '/v2/systemsharedmemory/region/register', '/v2/trace', '/v2/logging/x', '/v2/npu', '/v2/npu/faults/0', '/v2/models/m/versions/-1',
  ])('%s is nothing', (path) => {
    expect(matchRoute(path)).toBeUndefined()
  })

  it('reads names as UTF-8', () => {
    expect(matchRoute(Buffer.from('/v2/models/文字').toString('latin1'))?.model).toBe('文字')
  })
})
