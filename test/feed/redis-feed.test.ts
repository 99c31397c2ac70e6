import { feedConformance } from './conformance.ts'
import { redisRig } from './rig.ts'

// The dispatcher of the outbox looks once a second.
feedConformance('Redis streams', (t) => redisRig(t), { atOnceMs: 700 })
feedConformance('a sorted set in Redis', (t) => redisRig(t, { form: 'ready' }), { atOnceMs: 700 })
