import { client } from '../../session/client.ts'
import type { NavEntry } from '../nav.ts'

const JOB_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export const jobsNav: NavEntry = {
  to: '/console/jobs',
  label: 'Jobs',
  icon: 'jobs',
  roles: ['ADMIN'],
  find: async (text) => {
    if (!JOB_ID.test(text)) return []
    const job = await client.jobs.get(text)
    return [{ to: `/console/jobs/${job.job_id}`, label: `${job.kind} ${job.job_id}`, icon: 'jobs', about: 'Job' }]
  },
}
