export const orderStates = ['draft', 'placed', 'paid', 'shipped', 'cancelled'] as const
export type OrderState = (typeof orderStates)[number]

/** Where an order begins. */
export const firstStates = ['draft', 'placed'] as const satisfies readonly OrderState[]
export const DEFAULT_STATE = 'draft' satisfies OrderState

const nextStates = {
  draft: ['placed', 'cancelled'],
  placed: ['paid', 'cancelled'],
  paid: ['shipped', 'cancelled'],
  shipped: [],
  cancelled: [],
} as const satisfies Record<OrderState, readonly OrderState[]>

export const isPossibleChange = (from: OrderState, to: OrderState) => from === to || statesAfter(from).includes(to)

export const statesAfter = (from: OrderState): readonly OrderState[] => nextStates[from]
