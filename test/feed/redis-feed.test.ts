import { feedConformance } from './conformance.ts'
import { redisRig } from './rig.ts'

feedConformance('Redis', (t) => redisRig(t))
