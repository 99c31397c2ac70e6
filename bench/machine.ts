import { arch, cpus, release, totalmem, type } from 'node:os'

export interface Machine {
  cpu: string
  cores: number
  memoryGb: number
  system: string
  node: string
  postgres: string
  redis: string
}

export function describeMachine(servers: { postgresVersion: string; redisVersion: string }): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()} ${arch()}`,
    node: process.versions.node,
    postgres: servers.postgresVersion,
    redis: servers.redisVersion,
  }
}

export function machineLine(machine: Machine): string {
  const { cpu, cores, memoryGb, system, node, postgres, redis } = machine
  return `${cpu}, ${cores} cores, ${memoryGb} GB, ${system}; Node ${node}, PostgreSQL ${postgres}, Redis ${redis}`
}
