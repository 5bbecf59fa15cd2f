// biome-ignore lint/performance/noBarrelFile: the entry of a worker thread; the pool calls the export by its name
export { renderMarket } from '../compute/analyses/render-market.ts'
