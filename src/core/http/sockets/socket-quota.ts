import type { FastifyInstance } from 'fastify'
import { refused } from '../../values/outcome.ts'
import { assertQuota, type Quotas } from '../../quotas/quotas.ts'

/** An account has a bounded number of open WebSockets, over all doors: one more is refused at the upgrade. */
export function limitSockets(app: FastifyInstance, quotas: Pick<Quotas, 'hold'>, max: number): void {
  app.addHook('preValidation', (request, _reply, done) => {
    if (!request.ws || request.account === null || request.credential === null) return done()
    const release = quotas.hold('sockets', request.account.accountId)
    if (release === null) return assertQuota({ ...refused('quota_exceeded'), name: 'sockets', max })
    request.raw.socket.once('close', release)
    done()
  })
}
