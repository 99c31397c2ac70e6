import { feedConformance } from './conformance.ts'
import { postgresRig } from './rig.ts'

feedConformance('PostgreSQL', postgresRig)
