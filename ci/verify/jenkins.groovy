// Runs a declarative Jenkinsfile's steps on this machine, as far as ours uses
// them: blocks nest, sh runs a shell, post runs also after a failure, a failed
// branch of a matrix fails the build and keeps later stages from starting. What
// it does not know ends it: a stand-in that ignored a misspelt step would prove
// nothing. The script's binding has `file`, the Jenkinsfile, and `folder`.
import groovy.transform.Field

@Field Map variables = new TreeMap(System.getenv())
@Field List events = []

class Failed extends RuntimeException { Failed(String why) { super(why) } }

class Block {
    def script
    Map parts = [:]
    List stages = []
    List axes = []
    void fill(Closure body) {
        body.delegate = this
        body.resolveStrategy = Closure.DELEGATE_FIRST
        body()
    }
    void agent(Object where) { parts.agent = where instanceof Closure ? 'labelled' : where }
    Object getNone() { 'none' }
    Object getAny() { 'any' }
    // Options are named, and only those that Jenkins has.
    void options(Closure body) { new Options().with { body.delegate = it; body.resolveStrategy = Closure.DELEGATE_ONLY; body() } }
    void environment(Closure body) {
        body.delegate = script.variables
        body.resolveStrategy = Closure.DELEGATE_ONLY
        body()
    }
    void stages(Closure body) { fill(body) }
    void stage(String name, Closure body) {
        def s = new Block(script: script)
        s.parts.name = name
        s.fill(body)
        stages << s
    }
    void matrix(Closure body) { parts.matrix = new Block(script: script); parts.matrix.fill(body) }
    void axes(Closure body) { fill(body) }
    void axis(Closure body) { def a = new Axis(); body.delegate = a; body.resolveStrategy = Closure.DELEGATE_ONLY; body(); axes << a }
    void steps(Closure body) { parts.steps = body }
    void post(Closure body) { def p = new Post(); body.delegate = p; body.resolveStrategy = Closure.DELEGATE_ONLY; body(); parts.post = p }
    void run() {
        if (parts.matrix) {
            def failures = []
            parts.matrix.axes[0].all.each { value ->
                script.variables[parts.matrix.axes[0].key] = value
                try { parts.matrix.stages*.run() } catch (Failed e) { failures << e.message }
            }
            if (failures) throw new Failed(failures.join('; '))
            return
        }
        try {
            if (parts.steps) new Steps(script: script).go(parts.steps)
            stages*.run()
        } finally {
            if (parts.post) new Steps(script: script).go(parts.post.body)
        }
    }
}

class Axis {
    String key
    List all
    void name(String n) { key = n }
    void values(String... v) { all = v as List }
}

class Options {
    void skipDefaultCheckout() { }
    void timestamps() { }
    void timeout(Map m) { assert m.keySet() == ['time', 'unit'] as Set && m.unit == 'MINUTES' }
}

class Post {
    Closure body
    void always(Closure b) { body = b }
}

class Steps {
    def script
    void go(Closure body) { body.delegate = this; body.resolveStrategy = Closure.DELEGATE_FIRST; body() }
    def propertyMissing(String name) {
        if (!script.variables.containsKey(name)) throw new MissingPropertyException(name, Steps)
        script.variables[name]
    }
    void sh(String command) {
        def p = new ProcessBuilder('sh', '-xe', '-c', command).directory(new File(script.folder)).redirectErrorStream(true)
        p.environment().putAll(script.variables)
        def running = p.start()
        running.inputStream.eachLine { println it }
        if (running.waitFor() != 0) throw new Failed("sh: exit ${running.exitValue()}: $command")
    }
    void junit(Map m) {
        def known = ['testResults', 'keepProperties', 'skipPublishingChecks', 'allowEmptyResults', 'keepLongStdio'] as Set
        assert known.containsAll(m.keySet())
        assert m.keepProperties == true
        def report = new File(script.folder, m.testResults as String)
        if (!report.isFile()) throw new Failed("junit: no test report ${m.testResults}")
        def xml = new XmlSlurper().parse(report)
        def cases = xml.testsuite.testcase
        assert cases.size() > 0
        script.events << "junit ${m.testResults} ${cases.size()} cases ${cases.findAll { it.failure.size() + it.error.size() > 0 }.size()} bad"
    }
    void archiveArtifacts(Map m) { assert m.artifacts; script.events << "archive ${m.artifacts}" }
    void echo(String text) { script.events << "echo $text" }
}

def build = new Block(script: this)
def shell = new GroovyShell(new Binding([pipeline: { Closure body -> build.fill(body) }]))
shell.evaluate(new File(file))
def result = 'SUCCESS'
try { build.stages.each { it.run() } } catch (Failed e) { println e.message; result = 'FAILURE' }
events.each { println "event: $it" }
println "result: $result"
