'use strict'
// A render worker over the real @nexrender/core and @nexrender/api, doing what today's nexrender worker does:
// pick a job up, PUT `started`, render with PUTs of the progress, PUT `finished` or `error`. Like it, this one does not
// repeat the last PUT, has no watchdog before "Start:", takes a non-zero exit of aerender for success where a file is
// there (stopOnError: false), and simply dies of a signal.

const os = require('os')

// nexrender-core knows no After Effects on Linux and dereferences null while it searches for one.
os.platform = () => 'darwin'

const { createClient } = require('@nexrender/api')
const { init, render } = require('@nexrender/core')
const { getRenderingStatus } = require('@nexrender/types/job')

const need = name => {
    if (!process.env[name]) {
        console.error(`${name} is not set; start the worker with: python -m mos.local.farm worker`)
        process.exit(78)
    }
    return process.env[name]
}

const name = need('FARM_WORKER_NAME')
const polling = Number(process.env.FARM_POLLING_MS || 500)
const client = createClient({ host: need('FARM_SERVER_URL'), secret: need('NEXRENDER_SECRET'), name })
const settings = init({
    process: 'nexrender-worker',
    logger: console,
    noAnalytics: true,
    stopOnError: false,
    binary: need('FARM_AERENDER'),
    workpath: need('FARM_WORKPATH'),
})

const pause = () => new Promise(resolve => setTimeout(resolve, polling))
const put = (job, body) => client.updateJob(job.uid, body)
const texts = (job, error) => [].concat(job.error || [], [error.toString()])
const said = (job, what, error) => console.error(`[${job.uid}] ${what}: ${error.message}`)

const next = async () => {
    try {
        const job = await client.pickupJob()
        return job && job.uid ? job : null
    } catch (error) {
        console.error(`no answer to the pickup: ${error.message}`)
        return null
    }
}

const start = async job => {
    job.state = 'started'
    job.startedAt = new Date()
    // Server 1.38 writes the address at pickup where newer ones write the worker's name.
    job.executor = name
    await put(job, job)
    job.onRenderProgress = current => put(current, getRenderingStatus(current))
        .catch(error => said(current, 'progress was not taken', error))
    job.onRenderError = (current, error) => {
        job.error = texts(job, error)
        put(job, getRenderingStatus(job)).catch(failure => said(job, 'error was not taken', failure))
    }
}

const fail = async (job, error) => {
    said(job, 'failed', error)
    job.error = texts(job, error)
    job.errorAt = new Date()
    job.state = 'error'
    await put(job, getRenderingStatus(job)).catch(failure => said(job, 'abandoned, its end was not taken', failure))
}

const run = async picked => {
    let job = picked
    try {
        job = await render(job, settings)
        job.state = 'finished'
        job.finishedAt = new Date()
        await put(job, getRenderingStatus(job))
    } catch (error) {
        await fail(job, error)
    }
}

const one = async job => {
    try {
        await start(job)
    } catch (error) {
        said(job, 'abandoned, its start was not taken', error)
        return
    }
    await run(job)
}

const main = async () => {
    console.log(`farm worker ready as ${name}`)
    for (;;) {
        const job = await next()
        if (job) await one(job)
        else await pause()
    }
}

main()
