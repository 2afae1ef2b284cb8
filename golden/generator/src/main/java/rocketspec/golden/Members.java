package rocketspec.golden;

import io.openmessaging.storage.dledger.MemberState;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.rocketmq.store.dledger.DLedgerCommitLog;

/** The other members of this broker's DLedger group, n1 and n2, each in a process of its own. */
public final class Members {

    private static final Path KILLED = Paths.get("killed");
    private static final Path FIRST = Paths.get("rejoined");
    private static final Path SECOND = Paths.get("other");

    private final Broker broker;
    private final Session session;
    private BrokerProcess first;
    private final BrokerProcess second;
    private final List<RecordingStore.Dispatched> dispatched = new ArrayList<>();
    private final List<Map<String, Object>> deletions = new ArrayList<>();

    Members(Broker broker, Session session) throws IOException {
        this.broker = broker;
        this.session = session;
        first = broker.startMember(1, Files.createDirectories(FIRST), 1);
        second = broker.startMember(2, Files.createDirectories(SECOND), 1);
    }

    /** Waits until a member leads the group, n1 for one. */
    public void awaitLeader(String id) throws InterruptedException {
        session.await("the leader " + id, () -> id.equals(state().getLeaderId()));
    }

    /** Kills n1 (kill -9), which leads; waits until another member leads. What it left is one outcome. */
    public void killFirst() throws Exception {
        first.kill();
        Walk.copy(FIRST.resolve(Broker.STORE), KILLED.resolve(Broker.STORE));
        dispatched.addAll(first.dispatched());
        session.add(new Outcome(KILLED, broker.memberConfig(1), Left.uncleanly(KILLED.resolve(Broker.STORE), dispatched)));
        session.await("another leader", () -> {
            String leader = state().getLeaderId();
            return leader != null && !leader.equals("n1");
        });
    }

    /** Starts n1 again over its store and waits until it leads again. */
    public void startFirstAgain() throws Exception {
        session.deleting("restart", 2, FIRST.resolve(Broker.STORE), deletions,
            () -> first = broker.startMember(1, FIRST, 2));
        awaitLeader("n1");
    }

    /** Stops both, n1 last; what n1 left is one outcome. */
    void stop() throws Exception {
        second.stop();
        first.stop();
        dispatched.addAll(first.dispatched());
        session.add(new Outcome(FIRST, broker.memberConfig(1),
            Left.cleanly(FIRST.resolve(Broker.STORE), dispatched, deletions)));
    }

    private MemberState state() {
        return ((DLedgerCommitLog) Objects.requireNonNull(session.store()).getCommitLog()).getdLedgerServer()
            .getMemberState();
    }
}
