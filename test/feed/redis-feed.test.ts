import { feedConformance } from './conformance.ts'
import { redisRig } from './rig.ts'

// The dispatcher of the outbox looks once a second.
feedConformance('Redis', (t) => redisRig(t), { atOnceMs: 700 })
