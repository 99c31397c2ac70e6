// A browser's WebSocket carries its token as a subprotocol: `Sec-WebSocket-Protocol: reeve.bearer, <token>`.

const BEARER_PROTOCOL = 'reeve.bearer'

/** For `ws`: the only protocol that the server confirms. The token is not echoed. */
export const chooseProtocol = (offered: ReadonlySet<string>): string | false =>
  offered.has(BEARER_PROTOCOL) ? BEARER_PROTOCOL : false

export function tokenFromProtocols(header: string | undefined): string | null {
  const offered = (header ?? '').split(',').map((protocol) => protocol.trim())
  if (!offered.includes(BEARER_PROTOCOL)) return null
  return offered.find((protocol) => protocol !== BEARER_PROTOCOL) ?? null
}
