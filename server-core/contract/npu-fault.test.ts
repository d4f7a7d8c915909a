import { describe, expect, it } from 'vitest'
import { explainNpuFault, isFaultOfCard } from './npu-fault.ts'

describe('explainNpuFault', () => {
  it.each([
    ['cardLost', '507901', 1, 'waiting for the stream of device 1 failed with 507901 SOCKET_CLOSE: the link to the card is gone: the card is lost. Next: look at the card'],
    ['cardMemory', '207001', 0, "loading '/m/1/model.om' on device 0 failed with 207001 MEMORY_ALLOCATION: the card has not enough free memory. Next: unload a model of this card"],
    ['cardHung', '507046', null, 'Internal: ACL_ERROR_RT_STREAM_SYNC_TIMEOUT (507046): the card did not finish in the allowed time'],
    ['cardSilent', '', 2, 'Device 2 does not answer: a call to run the graph did not return within 500 ms (execution_timeout_ms). Look at npu-smi info'],
    ['cardSilent', '', 1, 'resetting device 1 did not come to an end within 5000 ms: the card or its driver hangs. Look at npu-smi info'],
    ['cardLost', '507901', 1, 'Device 1: running failed with 507901 SOCKET_CLOSE: the link is gone'],
    ['cardEcc', '507054', 3, 'device 3: run failed with 507054 HBM_MULTI_BIT_ECC_ERROR: several bits were wrong at once'],
    ['operatorFailed', '507015', null, 'the run failed with 507015 AICORE_EXCEPTION: an operator failed on the AI Core'],
    ['gearMissing', '145013', null, 'failed with 145013 DYNAMIC_BATCH_SIZE_INVALID: the model has no gear of this size'],
  ])('finds %s', (fault, code, card, text) => {
    expect(explainNpuFault(text)).toEqual({ fault, code, card })
  })

  it.each(['unable to find backend library', 'shape [100000, 507901] is wrong', 'failed with 999999 UNHEARD_OF: ?', 'request 507901 of model A'])('makes nothing of: %s', (text) => {
    expect(explainNpuFault(text)).toBeNull()
  })
})

describe('isFaultOfCard', () => {
  it.each([
    [true, 'a lost card', 'Device 1: running failed with 507901 SOCKET_CLOSE: the link is gone', true],
    [true, 'a lost card that a start met as an internal error', 'device 1: failed with 507033 DEV_SETUP_ERROR: the card could not be started', false],
    [true, 'memory that another model holds', 'failed with 207001 MEMORY_ALLOCATION: the card has not enough free memory', true],
    [true, 'a driver that does not come back, without a code', 'resetting device 1 did not come to an end within 5000 ms: the card or its driver hangs', true],
    [false, 'an operator that fails', 'Device 1: failed with 507015 AICORE_EXCEPTION: an operator failed on the AI Core', true],
    [false, 'a damaged model', 'failed with 100012 DESERIALIZE_MODEL: the .om file is damaged', false],
    [false, 'a crash', 'the backend threw: out of range', false],
  ])('is %s for %s', (expected, _what, text, isUnavailable) => {
    expect(isFaultOfCard(text, isUnavailable)).toBe(expected)
  })
})
