// The newest jobs of a client. A page of the server may be short, or empty, although there are more: its search is bounded.
import type { PoolJobPage } from '@reeve/sdk'

const PAGES_MAX = 3
const PAGE_ROWS = 100

type LoadPage = (page: { before?: string; limit: number }) => Promise<PoolJobPage>

/** As many as are wanted, where a few pages hold them. */
export async function newestJobs(load: LoadPage, wanted: number): Promise<PoolJobPage['jobs']> {
  let { jobs, next_before: before } = await load({ limit: wanted })
  for (let page = 2; page <= PAGES_MAX && jobs.length < wanted && before !== null; page += 1) {
    const next = await load({ limit: PAGE_ROWS, before })
    jobs = [...jobs, ...next.jobs]
    before = next.next_before
  }
  return jobs.slice(0, wanted)
}
