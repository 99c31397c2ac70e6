import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { rootRoute } from '../root.ts'

const problemsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/judge',
  staticData: { access: 'account' },
  component: lazyRouteComponent(() => import('./problems/problems-page.tsx'), 'ProblemsPage'),
})

export const problemRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/judge/problems/$problem',
  staticData: { access: 'account' },
  component: lazyRouteComponent(() => import('./problems/problem-page.tsx'), 'ProblemPage'),
})

export interface SubmissionsSearch {
  problem?: string
  verdict?: string
  all?: boolean
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

export const submissionsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/judge/submissions',
  staticData: { access: 'account' },
  validateSearch: (search): SubmissionsSearch => {
    const problem = textOf(search['problem'])
    const verdict = textOf(search['verdict'])
    return {
      ...(problem === undefined ? {} : { problem }),
      ...(verdict === undefined ? {} : { verdict }),
      ...(search['all'] === true ? { all: true } : {}),
    }
  },
  component: lazyRouteComponent(() => import('./submissions/submissions-page.tsx'), 'SubmissionsPage'),
})

export const submissionRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/judge/submissions/$job',
  staticData: { access: 'account' },
  /** `against`: the other submission of a comparison. */
  validateSearch: (search): { against?: string } => {
    const against = textOf(search['against'])
    return against === undefined ? {} : { against }
  },
  component: lazyRouteComponent(() => import('./submissions/submission-page.tsx'), 'SubmissionPage'),
})

const importRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/console/judge/import',
  staticData: { access: ['ADMIN'] },
  component: lazyRouteComponent(() => import('./problems/import-page.tsx'), 'ImportPage'),
})

export const judgeRoutes = [problemsRoute, problemRoute, submissionsRoute, submissionRoute, importRoute] as const
