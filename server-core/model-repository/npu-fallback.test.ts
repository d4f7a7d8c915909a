import { describe, expect, it } from 'vitest'
import type { ModelConfig } from '../contract/model-config.ts'
import { readModelConfig } from '../model-config/read-config.ts'
import { ServerError } from '../server-error.ts'
import { cpuInstead, fallbackOf, refuseWhileOff, wantsNpu } from './npu-fallback.ts'

const config = (text: string): ModelConfig => readModelConfig(`name: "m" ${text}`, 'config.pbtxt')
const GE = config('backend: "npu_ge"')
const LOST = new ServerError('UNAVAILABLE', 'card 1 does not answer (507033)')
const parameter = (key: string, value: string) => `parameters { key: "${key}" value { string_value: "${value}" } }`

describe('wantsNpu', () => {
  it.each([
    ['backend: "npu_ge"', true], ['backend: "npu_om"', true], ['backend: "onnxruntime" instance_group { kind: KIND_GPU }', true], ['backend: "onnxruntime" instance_group { gpus: 1 }', true],
    ['backend: "onnxruntime" instance_group { kind: KIND_CPU }', false], ['backend: "onnxruntime"', false],
  ])('%s: %s', (text, wants) => { expect(wantsNpu(config(text))).toBe(wants) })
})

describe('fallbackOf', () => {
  it('obeys the model before the server, and refuses other words', () => {
    const server = { source: 'auto', fallback: 'fail' } as const
    expect(fallbackOf(GE, server)).toBe('fail')
    expect(fallbackOf(config(parameter('npu_fallback', 'allow')), server)).toBe('allow')
    expect(fallbackOf(config(parameter('npu_fallback', 'fail')), { source: 'auto', fallback: 'allow' })).toBe('fail')
    expect(() => fallbackOf(config(parameter('npu_fallback', 'yes')), server)).toThrow(`parameter npu_fallback of model 'm' must be "fail" or "allow", got "yes"`)
  })
})

describe('cpuInstead', () => {
  it('runs an ONNX model through onnxruntime, with what it wanted and why it does not get it', () => {
    const wanted = config(`backend: "npu_ge" default_model_filename: "ocr.onnx" instance_group { count: 2 kind: KIND_CPU } ${parameter('device_ids', '1')}`)
    const cpu = cpuInstead(wanted, ['ocr.onnx'], LOST, true)
    expect(cpu?.config).toMatchObject({ backend: 'onnxruntime', default_model_filename: 'ocr.onnx', instance_group: [{ count: 2, kind: 'KIND_CPU' }] })
    expect(cpu?.report).toEqual({ runs_on: 'cpu', device: 1, fallback_reason: 'card 1 does not answer (507033)' })
  })

  it('finds the model as the backend does: model.onnx, else the first .onnx', () => {
    expect(cpuInstead(GE, ['a.onnx', 'model.onnx'], LOST, true)?.config.default_model_filename).toBe('model.onnx')
    expect(cpuInstead(GE, ['readme.md', 'a.onnx'], LOST, true)?.config.default_model_filename).toBe('a.onnx')
    expect(cpuInstead(GE, ['frozen.pb'], LOST, true)).toBeNull()
    expect(cpuInstead(config('backend: "npu_om"'), ['model.om'], LOST, true)).toBeNull()
  })

  it('puts groups on devices onto the CPU, and names no card where several were asked for', () => {
    const cpu = cpuInstead(config('backend: "onnxruntime" instance_group { kind: KIND_GPU gpus: [ 0, 1 ] }'), ['model.onnx'], new ServerError('INVALID_ARG', 'no GPUs'), true)
    expect(cpu?.config.instance_group).toMatchObject([{ kind: 'KIND_CPU', gpus: [] }])
    expect(cpu?.report).toEqual({ runs_on: 'cpu', fallback_reason: 'no GPUs' })
  })

  it('leaves a config that its backend refuses, and a load that was called off, as they are', () => {
    expect(cpuInstead(GE, ['model.onnx'], new ServerError('INVALID_ARG', 'gears must be 2 to 100'), true)).toBeNull()
    expect(cpuInstead(GE, ['model.onnx'], new ServerError('INVALID_ARG', 'unable to find backend library'), false)).not.toBeNull()
    expect(cpuInstead(GE, ['model.onnx'], new ServerError('CANCELLED', 'newer load'), true)).toBeNull()
    expect(cpuInstead(config('backend: "python"'), ['model.onnx'], LOST, true)).toBeNull()
  })
})

describe('refuseWhileOff', () => {
  it('says how to get the cards back', () => {
    expect(() => { refuseWhileOff(GE, { source: 'off', fallback: 'fail' }) }).toThrow('start it with --npu=auto')
    refuseWhileOff(GE, { source: 'auto', fallback: 'fail' })
    refuseWhileOff(config('backend: "onnxruntime"'), { source: 'off', fallback: 'fail' })
  })
})
