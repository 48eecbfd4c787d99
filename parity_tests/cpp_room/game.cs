// A game in C# that records: Unity's and Godot's call is the same. game.exe FILE
using System;

internal static class Game
{
    private static int Main(string[] words)
    {
        var recorder = new Rigpact.Recorder();
        recorder.About("actor", "Wölf (3)");
        bool ok = recorder.Open(words[0], new Rigpact.Header { Producer = "MyGame", ProducerVersion = "1.0", Fps = 60, Mode = "free", System = "studio" });
        for (int life = 0; life < 2; ++life)
        {
            for (int frame = 0; frame < 3; ++frame)
            {
                recorder.BeginFrame(frame, frame / 60.0);
                recorder.Stage("state", new float[] { frame, life, 0.5f }).Stage("clock", new double[] { frame / 4.0 });
                ok &= recorder.EndFrame();
            }
        }
        recorder.BeginFrame(3, 0.05, "teacher");
        recorder.Stage("target", new float[] { 1 });
        ok &= recorder.EndFrame() && recorder.Close();
        Rigpact.Counts counts = recorder.Counts;
        Console.WriteLine("{0} {1} {2} {3}", ok, counts.Written, counts.Segments, recorder.Problem ?? "none");
        ok = recorder.Open("no/such/folder/run.trace.bin", new Rigpact.Header { Producer = "MyGame", ProducerVersion = "1.0", Fps = 60, Mode = "free" });
        Console.WriteLine("{0} {1}", ok, recorder.Problem);
        recorder.Dispose();
        return 0;
    }
}
