'use strict'
// nexrender-server has no --host and would listen on every interface. Preloaded with `node -r`, this lets every server
// of the process listen on 127.0.0.1 only, and says so in one line once it does.

const net = require('net')

const HOST = '127.0.0.1'
const listen = net.Server.prototype.listen

net.Server.prototype.listen = function (...given) {
    const first = given[0]
    const port = Number(first !== null && typeof first === 'object' ? first.port : first) || 0
    const done = given.find(argument => typeof argument === 'function')
    this.once('listening', () => console.log(`farm server ready on ${HOST}:${this.address().port}`))
    return listen.call(this, { host: HOST, port }, done)
}
