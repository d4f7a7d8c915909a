/** What the stand-in lacks must fail loudly: a test that passes on an API that does nothing would prove nothing. */

/** Read by JavaScript itself or by the inspector on any object. */
const READ_BY_THE_LANGUAGE = new Set(['then', 'toJSON', 'constructor', 'prototype', 'name', 'length'])

/** The object, throwing when anything is read from it that it does not have. */
export function strict<T extends object>(name: string, target: T): T {
  return new Proxy(target, {
    get(object, property, receiver) {
      if (typeof property === 'symbol' || property in object || READ_BY_THE_LANGUAGE.has(property)) return Reflect.get(object, property, receiver) as unknown
      throw new Error(`The stand-in for Electron has no ${name}.${property}: add it in e2e/standin, or test this on a real Electron only.`)
    },
  })
}
