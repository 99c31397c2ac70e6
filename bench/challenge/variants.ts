// What is measured, from the bare route to the whole door: each does one thing more, in the same HTTP server.

export const VARIANTS = {
  bare: { title: 'the route alone', what: 'answers 202; no verification, no storage' },
  signature: { title: '+ signature', what: 'verifies the signature and the time; no nonce, no storage' },
  insert: {
    title: 'one INSERT',
    what: 'no verification; one INSERT per request, of the same columns, on the same pool',
  },
  door: { title: 'the door', what: 'POST /solve as it is: nonce, request and job on disk before the 202' },
} as const

export type Variant = keyof typeof VARIANTS

export const isVariant = (name: string): name is Variant => Object.hasOwn(VARIANTS, name)
